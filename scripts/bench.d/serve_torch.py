# serve_torch.py: the network of the quick start in torch behind FastAPI, for
#     uvicorn --workers 2 serve_torch:app
# A request and its answer are those of the Open Inference Protocol. The body is read as JSON
# by hand, which is faster than a declared model of it.
import torch
from fastapi import FastAPI, Request
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                      nn.Linear(512, 10)).eval()
app = FastAPI()


@app.post("/infer")
async def infer(request: Request):
    asked = (await request.json())["inputs"][0]
    x = torch.tensor(asked["data"], dtype=torch.float32).reshape(asked["shape"][0], 784)
    with torch.inference_mode():
        probability = torch.softmax(model((x - 72.94) / 90.02), 1)
    n = len(probability)
    return {"model_name": "fashion", "outputs": [
        {"name": "class", "datatype": "UINT8", "shape": [n],
         "data": probability.argmax(1).tolist()},
        {"name": "probability", "datatype": "FP32", "shape": [n, 10],
         "data": probability.flatten().tolist()}]}
