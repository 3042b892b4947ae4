"""NVRTC from Python: compiles a program held in memory, as an inference engine does at run time."""
import ctypes
import time

from tools import cuda_home, need_nvcc, skip


class Nvrtc:
    def __init__(self):
        need_nvcc()
        found = sorted((cuda_home() / "lib64").glob("libnvrtc.so*"))
        if not found:
            skip("no libnvrtc in " + str(cuda_home()))
        self.library = ctypes.CDLL(str(found[0]))

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
