# Tests of whole runs, and the training functions that they use.
RUN_TESTS = t/1000-run.t t/1005-typed.t t/1010-bad-input.t t/1012-settings.t t/1015-forks.t t/1016-collectives.t \
	t/1017-languages.t t/1018-attachments.t t/1019-open.t \
	t/1020-resume.t t/1022-reconfigure.t t/1025-stop.t t/1026-unheard.t t/1028-intruder.t t/1029-trust.t t/1030-faults.t \
	t/1040-full-disk.t t/1050-hang.t t/1055-oom.t t/1070-tiers.t t/1072-columns.t \
	t/1080-launcher-killed.t t/1090-elastic.t t/1100-slurm.t t/1110-slurm-stop.t t/1111-slurm-same-step.t \
	t/1120-slurm-surroundings.t t/1150-slurm-hang.t t/1170-slurm-tiers.t \
	t/1180-slurm-launcher-killed.t t/1190-slurm-words.t t/1195-slurm-pmix.t \
	t/1196-slurm-without-pmix.t \
	t/1210-cached-following.t t/1220-cached-checkpoints.t t/1230-slurm-predict.t \
	t/1300-command.t \
	t/1301-slurm-command.t \
	t/1310-python.t t/1311-python-types.t t/1312-pip.t t/1315-container.t \
	t/1320-python-checkpoint.t \
	t/1321-python-torch-state.t \
	t/1340-backends.t \
	t/1341-backends-nodes.t t/1342-backends-names.t \
	t/1345-report.t \
	t/1350-fit.t \
	t/1351-fit-start.t \
	t/1355-python-data.t t/1357-python-transforms.t t/1358-python-local-mode.t t/1371-text-data.t \
	t/1356-slurm-fit.t \
	t/1360-libraries.t t/1361-python-frameworks.t t/1396-python-trees-fit.t \
	t/1397-python-trees-function.t \
	t/1372-preprocess.t \
	t/1373-python-preprocess.t \
	t/1374-python-memory.t \
	t/1375-python-batch-mapper.t \
	t/1376-preprocess-words.t \
	t/1377-batch-mapper.t \
	t/1380-predict.t \
	t/1440-progress.t t/1445-show.t \
	t/1450-callbacks.t t/1451-callback-command.t t/1452-callback-library.t \
	t/1460-tensorboard.t \
	t/1461-python-callback.t \
	t/1470-metrics.t \
	t/1381-predict-faults.t \
	t/1383-predict-preprocess.t \
	t/1384-best-checkpoint.t \
	t/1390-trees-predict.t \
	t/1395-python-trees.t \
	t/1400-trees.t \
	t/1410-trees-resume.t \
	t/1420-trees-lightgbm.t \
	t/1430-slurm-trees.t \
	t/1480-check.t t/1481-slurm-check.t t/1482-site.t \
	t/1490-submit.t t/1491-submit-lines.t t/1495-array.t t/1510-serve.t t/1540-serve-python.t t/1550-serve-models.t \
	t/1530-slurm-serve.t \
	t/1531-slurm-haproxy.t t/1532-serve-storage.t t/1533-serve-followed.t \
	t/1600-device.t t/1610-nccl.t t/1620-reducer-device.t \
	t/1621-reducer-nccl.t t/1630-device-overlap.t t/1635-device-batches.t t/1640-gpus.t \
	t/1641-slurm-gpus.t t/1650-device-mlp.t t/1660-no-gpu-library.t
dist_check_SCRIPTS += $(RUN_TESTS)
TESTS += $(RUN_TESTS)

# Those that take long and seldom find what the others do not: `scripts/test` leaves them to
# `scripts/test all`.
LONG_TESTS = t/1060-soak.t t/1061-python-soak.t t/1160-slurm-soak.t \
	t/1200-nodes.t t/1205-slurm-daemons.t \
	t/1332-torch-resume.t t/1333-torch-sharded.t t/1334-torch-process-group.t \
	t/1335-torch-fsdp.t t/1336-torch-loader.t t/1382-signs-of-progress.t \
	t/1500-scale.t t/1505-slurm-scale.t t/9200-sbatch.t t/frameworks/torch.t
dist_check_SCRIPTS += $(LONG_TESTS)
TESTS += $(LONG_TESTS)

EXTRA_DIST += t/chaos/chaos t/scale/scale

EXTRA_DIST += t/soak/soak t/soak/local.sh t/soak/python.sh t/soak/train.py \
	t/soak/slurm.sh t/soak/batch.sh scripts/soak

TORCH_TESTS = t/1330-torch.t t/1331-torch-nodes.t
dist_check_SCRIPTS += $(TORCH_TESTS)
TESTS += $(TORCH_TESTS)
EXTRA_DIST += t/python-standins/lightning/__init__.py t/python-standins/lightning/fabric.py \
	t/python-standins/lightning/pytorch/__init__.py \
	t/python-standins/lightning/pytorch/callbacks.py \
	t/python-standins/lightning/pytorch/strategies.py \
	t/python-standins/lightning/pytorch/plugins/__init__.py \
	t/python-standins/lightning/pytorch/plugins/environments.py \
	t/python-standins/transformers/__init__.py t/python-standins/tensorflow/__init__.py \
	t/python-standins/lightgbm/__init__.py

# For scripts/test gpu, on a machine with a GPU.
EXTRA_DIST += t/gpu/gpu.sh t/gpu/tensors.c t/gpu/tensors.t t/gpu/mlp.t

# For scripts/test frameworks, with the frameworks themselves.
EXTRA_DIST += t/frameworks/frameworks.sh t/frameworks/shared.py t/frameworks/train_torch.py \
	t/frameworks/jax.t t/frameworks/train_jax.py \
	t/frameworks/lightning.t t/frameworks/train_lightning.py \
	t/frameworks/transformers.t t/frameworks/train_transformers.py \
	t/frameworks/accelerate.t t/frameworks/train_accelerate.py
