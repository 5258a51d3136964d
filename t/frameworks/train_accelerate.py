"""Accelerate's loop on CPUs: only the environment says how many processes there are."""
import accelerate
import torch

import raytrain
import shared

accelerator = accelerate.Accelerator()
assert accelerator.num_processes == 2, accelerator.state
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(),
                            torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), 0.01)
data = torch.utils.data.TensorDataset(torch.rand(256, 16))
model, optimizer, loader = accelerator.prepare(
    model, optimizer, torch.utils.data.DataLoader(data, batch_size=16))
begin = 0
checkpoint = raytrain.get_checkpoint()
if checkpoint:
    state = checkpoint.to_dict()
    accelerator.unwrap_model(model).load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    begin = state["epoch"] + 1
for epoch in range(begin, shared.EPOCHS):
    shared.epoch_begins(epoch)
    for (x,) in loader:
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    raytrain.report({"loss": loss.item()}, checkpoint=raytrain.Checkpoint.from_dict(
        {"model": accelerator.unwrap_model(model).state_dict(),
         "optimizer": optimizer.state_dict(), "epoch": epoch}))
shared.say_torch_bits(accelerator.unwrap_model(model))
