"""Libraries of Hugging Face under raytrain: see raytrain.huggingface.transformers."""
