"""DDP over gloo, with the optimizer's state in the checkpoint."""
import torch
import torch.distributed as dist

import raytrain
import shared

dist.init_process_group("gloo")
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                          torch.nn.Linear(32, 1))
model = torch.nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.Adam(model.parameters(), 0.01)
begin = 0
checkpoint = raytrain.get_checkpoint()
if checkpoint:
    state = checkpoint.to_dict()
    net.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    begin = state["epoch"] + 1
for epoch in range(begin, shared.EPOCHS):
    shared.epoch_begins(epoch)
    generator = torch.Generator().manual_seed(100 * epoch + dist.get_rank())
    for _ in range(4):
        x = torch.rand(32, 16, generator=generator)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    state = {"model": net.state_dict(), "optimizer": optimizer.state_dict(),
             "epoch": epoch}
    raytrain.report({"loss": loss.item()},
                    checkpoint=raytrain.Checkpoint.from_dict(state))
shared.say_torch_bits(net)
dist.destroy_process_group()
