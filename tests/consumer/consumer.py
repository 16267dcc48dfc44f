# SPDX-License-Identifier: Apache-2.0
"""Uses the library from Python with nothing but ctypes: consumer.py LIBRARY. Needs no GPU."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
for function in (library.bwgemmStatusName, library.bwgemmGetLastErrorString):
    function.restype = ctypes.c_char_p

handle = ctypes.c_void_p()
status = library.bwgemmCreate(ctypes.byref(handle))
print(library.bwgemmGetVersion(), library.bwgemmStatusName(status).decode())
if status == 0:
    library.bwgemmDestroy(handle)
else:
    print(library.bwgemmGetLastErrorString().decode())
