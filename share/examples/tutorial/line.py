"""line.py - the script of raytrain(7): line.c in Python, with torch."""
import torch

import raytrain
from raytrain.torch import prepare_model

model = torch.nn.Linear(1, 1).double()
start = 0
checkpoint = raytrain.get_checkpoint()
if checkpoint:
    state = checkpoint.to_dict()
    model.load_state_dict(state["model"])
    start = state["epoch"] + 1
model = prepare_model(model)  # averages the gradients of the workers
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
points = raytrain.get_dataset_shard("train")
for epoch in range(start, raytrain.config.get("epochs", 10)):
    for batch in points.iter_torch_batches(batch_size=8):
        loss = torch.nn.functional.mse_loss(model(batch["x"][:, None])[:, 0], batch["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    plain = getattr(model, "module", model)  # a single worker has no DDP
    state = {"model": plain.state_dict(), "epoch": epoch}
    raytrain.report({"loss": loss.item()}, checkpoint=raytrain.Checkpoint.from_dict(state))
