# SPDX-License-Identifier: Apache-2.0
"""libbwgemm.so and the CUDA driver through ctypes; a handle for each device and thread."""

import collections
import ctypes
import os
import threading

SUCCESS, NOT_SUPPORTED, NO_DRIVER = 0, 15, 100
DATA_TYPE = {"float32": 0, "float16": 2, "bfloat16": 14}
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
COMPUTE_32F = 68
ORDER = {False: 0, True: 1}  # of bwgemmOrder_t: COL, ROW
ACTIVATION = {None: 0, "relu": 1, "gelu_tanh": 2, "gelu": 3, "silu": 4}
GATE = {None: 0, "interleaved": 1, "stacked": 2}
BIAS_GRADIENT = {"rows": 1, "columns": 2, "a": 3, "b": 4}
DIM_N = 1
CHOOSE = -1

_INT, _SIZE, _POINTER, _TEXT = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p


class MatmulDesc(ctypes.Structure):
    """bwgemmMatmulDesc_t."""

    _fields_ = [(name, kind) for kind, names in (
        (ctypes.c_uint32, "structSize"),
        (ctypes.c_int32, "computeType transa transb"),
        (ctypes.c_int64, "m n k"),
        (ctypes.c_int32, "Atype Btype Ctype Dtype Aorder Border Corder Dorder"),
        (ctypes.c_int64, "lda ldb ldc ldd batchCount strideA strideB strideC strideD"),
        (ctypes.c_int32, "batchMode activation gate biasDim biasType auxMode auxType reserved"),
        (ctypes.c_void_p, "bias rowScale columnScale aux"),
        (ctypes.c_int64, "strideBias strideRowScale strideColumnScale strideAux ldaux algo"),
        (ctypes.c_void_p, "workspace"), (ctypes.c_uint64, "workspaceSize"),
        (ctypes.c_int32, "biasGradientOf biasGradientType"), (ctypes.c_void_p, "biasGradient"),
        (ctypes.c_int64, "strideBiasGradient")) for name in names.split()]

    @classmethod
    def initial(cls):
        """As BWGEMM_MATMUL_DESC_INIT, except for types."""
        return cls(structSize=ctypes.sizeof(cls), computeType=COMPUTE_32F, batchCount=1, algo=CHOOSE)


def _load():
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libbwgemm.so.1")
    library = ctypes.CDLL(own if os.path.exists(own) else "libbwgemm.so.1")
    floats = ctypes.POINTER(ctypes.c_float)
    matmul = (_POINTER, ctypes.POINTER(MatmulDesc), floats, _POINTER, _POINTER, floats, _POINTER,
              _POINTER)
    for name, result, *arguments in (
            ("bwgemmGetVersion", _INT),
            ("bwgemmGetBuildInfo", _TEXT),
            ("bwgemmStatusName", _TEXT, _INT),
            ("bwgemmGetLastErrorString", _TEXT),
            ("bwgemmKernelCount", _INT),
            ("bwgemmKernelName", _TEXT, _INT),
            ("bwgemmCreate", _INT, ctypes.POINTER(_POINTER)),
            ("bwgemmSetStream", _INT, _POINTER, _POINTER),
            ("bwgemmMatmul", _INT, *matmul),
            ("bwgemmMatmulExplain", _INT, *matmul, _POINTER, _SIZE)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()


class Error(RuntimeError):
    """A call that the library or the driver refused. `status` is the bwgemmStatus_t, `name` its
    name."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.name = library.bwgemmStatusName(status).decode()


def check(status):
    """On the thread of the call, before its next."""
    if status != SUCCESS:
        raise Error(status, library.bwgemmGetLastErrorString().decode(errors="replace"))


def version():
    """(major, minor, patch) of the library."""
    number = library.bwgemmGetVersion()
    return number // 10000, number // 100 % 100, number % 100


def build_info():
    """One line: version, source revision, compiler, architectures."""
    return library.bwgemmGetBuildInfo().decode()


def kernel_names():
    """All kernels of the library, as profilers show them."""
    return [library.bwgemmKernelName(i).decode() for i in range(library.bwgemmKernelCount())]


class _Driver:
    """What is needed beside the library: contexts, and order between streams."""

    def __init__(self):
        # Ignored, as by the library, in a program that runs with more rights than its user.
        getenv = ctypes.CDLL(None).secure_getenv
        getenv.restype = ctypes.c_char_p
        path = os.fsdecode(getenv(b"BWGEMM_LIBCUDA") or b"libcuda.so.1")
        try:
            self._cuda = ctypes.CDLL(path)
        except OSError as error:
            raise Error(NO_DRIVER, f"the CUDA driver cannot be opened: {error}") from None
        self.call("cuInit", ctypes.c_uint(0))

    def call(self, name, *arguments):
        result = getattr(self._cuda, name)(*arguments)
        if result != 0:
            raise Error(14, f"{name} failed with CUDA error {result}")

    def device_of(self, pointer):
        ordinal = ctypes.c_int()
        device_ordinal = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        self.call("cuPointerGetAttribute", ctypes.byref(ordinal), ctypes.c_int(device_ordinal),
                  ctypes.c_uint64(pointer))
        return ordinal.value

    def retained_context(self, device):
        context = _POINTER()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device))
        return context


_once = threading.RLock()  # what Python runs in between, a finalizer say, may call too
_driver = None
_contexts = {}  # by device: primary contexts, retained for good


def driver():
    global _driver
    with _once:
        if _driver is None:
            _driver = _Driver()
    return _driver


class current:
    """with current(device): its primary context is the thread's."""

    def __init__(self, device):
        cuda = driver()
        with _once:
            if device not in _contexts:
                _contexts[device] = cuda.retained_context(device)
        self._context = _contexts[device]

    def __enter__(self):
        driver().call("cuCtxPushCurrent_v2", self._context)

    def __exit__(self, *_):
        driver().call("cuCtxPopCurrent_v2", ctypes.byref(_POINTER()))


def wait_for(device, stream, producer):
    """Work that comes on `stream` waits for what `producer`, another stream, holds now."""
    with current(device):
        cuda, event = driver(), _POINTER()
        no_timing = ctypes.c_uint(2)
        cuda.call("cuEventCreate", ctypes.byref(event), no_timing)
        try:
            cuda.call("cuEventRecord", event, _POINTER(producer))
            cuda.call("cuStreamWaitEvent", _POINTER(stream), event, ctypes.c_uint(0))
        finally:
            cuda.call("cuEventDestroy_v2", event)


class _Lease:
    """A handle for as long as a thread lives, then for the next: destroying it would wait for the
    device, and break captures of other threads. The process's end ends them all."""

    idle = collections.defaultdict(collections.deque)  # by device; deques need no lock

    def __init__(self, device):
        self.device, self.process = device, os.getpid()
        try:
            self.handle = self.idle[device].pop()
        except IndexError:
            self.handle = _POINTER()
            with current(device):
                check(library.bwgemmCreate(ctypes.byref(self.handle)))

    def __del__(self):
        if getattr(self, "handle", None) and os is not None and self.process == os.getpid():
            self.idle[self.device].append(self.handle)


class _Thread(threading.local):
    def __init__(self):
        self.leases = collections.defaultdict(list)  # by device: those that no call uses now


_thread = _Thread()


def call(function, device, stream, *arguments):
    """function(handle, *arguments) on the stream. No call that Python runs in between, of a
    finalizer or a signal's handler, has the handle meanwhile and moves it to another stream."""
    leases = _thread.leases[device]
    lease = leases.pop() if leases else _Lease(device)
    if lease.process != os.getpid():  # of before a fork: left to the parent
        lease = _Lease(device)
    try:
        check(library.bwgemmSetStream(lease.handle, stream))
        check(function(lease.handle, *arguments))
    finally:
        leases.append(lease)


def _forget():
    global _once
    _once = threading.RLock()  # a thread of the parent may have held it
    _Lease.idle.clear()


os.register_at_fork(after_in_child=_forget)
