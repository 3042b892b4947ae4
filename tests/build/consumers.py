"""Projects that use smx by find_package, add_subdirectory and FetchContent, from folders with a space in their name."""
import pathlib
import shutil
import tempfile

from tools import CXX, NVCC, ROOT, must, report, run, start_of

CONSUMER = pathlib.Path(__file__).with_name("consumer")


def consume(name, how, scratch, *more):
    """Configures, builds and runs the consumer, and gives its output."""
    build = scratch / ("build " + name)
    must("cmake", "-S", CONSUMER, "-B", build, "-DHOW=" + how, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=%s" % CXX,
         *more)
    must("cmake", "--build", build)
    return must(build / "consumer")


with tempfile.TemporaryDirectory() as folder:
    scratch = pathlib.Path(folder) / "with a space"
    source, prefix, moved = scratch / "smx source", scratch / "the prefix", scratch / "moved here"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build*", "tests", "bench", "examples"))
    must("cmake", "-S", source, "-B", scratch / "build smx", "-DSMX_BUILD_TESTS=OFF", "-DSMX_BUILD_BENCH=OFF",
         "-DSMX_BUILD_EXAMPLES=OFF", "-DCMAKE_CXX_COMPILER=%s" % CXX)
    must("cmake", "--install", scratch / "build smx", "--prefix", prefix)

    cuda = ["-DWITH_CUDA=ON", "-DCMAKE_CUDA_COMPILER=%s" % NVCC] if NVCC else []
    inside = ["-DSMX_SOURCE=%s" % source]
    away = source.rename(scratch / "not here")  # what is installed needs nothing of it
    ran = [consume("installed", "find_package", scratch, "-DCMAKE_PREFIX_PATH=%s" % prefix, *cuda)]
    prefix.rename(moved)
    ran.append(consume("moved", "find_package", scratch, "-DCMAKE_PREFIX_PATH=%s" % moved))
    code, said = run("cmake", "-S", CONSUMER, "-B", scratch / "build wanted", "-DWANTED=1.0", "-DCMAKE_CXX_COMPILER=%s" % CXX,
                     "-DCMAKE_PREFIX_PATH=%s" % moved)
    refused = [] if code != 0 and "1.0" in said else ["find_package takes this version for 1.0\n" + start_of(said)]
    away.rename(source)
    ran.append(consume("beside", "add_subdirectory", scratch, *inside))
    ran.append(consume("fetched", "fetch_content", scratch, *inside))
    if cuda:
        ran.append(consume("beside, CUDA", "add_subdirectory", scratch, *inside, *cuda))
    else:
        print("left out: CUDA consumers need the CUDA toolkit")
print("".join(ran), end="")
report(len(ran), refused)
