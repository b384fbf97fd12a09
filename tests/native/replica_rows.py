"""Replicas in one block of memory at a stride, for the tests of the arithmetic."""

import numpy as np

PAGE = 4096


class Replicas:
    """n rows of elements at `base + i * stride`, between guard bytes that must survive."""

    def __init__(self, rows, start=0, pages=1):
        self.n, self.count = rows.shape
        nbytes = rows.nbytes // self.n
        self.stride = (nbytes + 2 * PAGE) // PAGE * PAGE + pages * PAGE
        self.memory = np.full(self.n * self.stride + 2 * PAGE, 0xA5, dtype=np.uint8)
        first = -self.memory.ctypes.data % PAGE + start * rows.itemsize
        self.base = self.memory.ctypes.data + first
        spans = [slice(first + i * self.stride, first + i * self.stride + nbytes) for i in range(self.n)]
        self.rows = [self.memory[span].view(rows.dtype) for span in spans]
        for mine, row in zip(self.rows, rows, strict=True):
            mine[:] = row
        self.outside = np.ones(self.memory.size, dtype=bool)
        for span in spans:
            self.outside[span] = False

    def guards_intact(self):
        return bool((self.memory[self.outside] == 0xA5).all())
