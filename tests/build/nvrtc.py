"""NVRTC from Python: compiles a program held in memory, as an inference engine does at run time."""
import ctypes
import time

from tools import cuda_home, need_nvcc, skip


class Nvrtc:
    """The NVRTC of this build's toolkit, or one in another folder."""
    def __init__(self, folder=None):
        if folder is None:
            need_nvcc()
            folder = cuda_home() / "lib64"
        found = sorted(folder.glob("libnvrtc.so*"))
        if not found:
            skip("no libnvrtc in " + str(folder))
        self.library = ctypes.CDLL(str(found[0]))

    def architectures(self):
        """Every compute capability it knows, 90 for 9.0."""
        count = ctypes.c_int()
        self.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        self.library.nvrtcGetSupportedArchs(known)
        return list(known)

    def compile(self, source, options):
        """Gives the error code (0 is success), what the compiler said, and the processor seconds it took."""
        library, program, size = self.library, ctypes.c_void_p(), ctypes.c_size_t()
        start = time.process_time()
        library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"program.cu", 0, None, None)
        words = (ctypes.c_char_p * len(options))(*[str(word).encode() for word in options])
        code = library.nvrtcCompileProgram(program, len(options), words)
        seconds = time.process_time() - start
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        library.nvrtcDestroyProgram(ctypes.byref(program))
        return code, log.value.decode(), seconds
