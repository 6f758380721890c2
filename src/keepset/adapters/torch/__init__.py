"""PyTorch: a pipeline as a ``torch.utils.data`` data set, and a loader that can stop and go on.

Its modules import torch, so that they are imported only when somebody asks for them.
"""
