"""The kernels on a GPU: CUDA sources of our own, and the functions that launch them through CuPy.

They give the same integers as the kernels on the processor. Arrays may be on the GPU or in main memory, and results
are where the first array was.
"""
