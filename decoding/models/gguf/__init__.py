"""GGUF files of models that our decoder runs, so that llama.cpp runs the same weights."""
