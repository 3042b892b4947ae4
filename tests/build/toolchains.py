"""Compilers and toolkits from packages, each in a folder of its own as a CUDA toolkit lies: bin, include, lib, nvvm."""
import pathlib
import shutil
import subprocess
import tempfile
import venv

# As NVIDIA's own toolkits have it; Debian's lies elsewhere and says so.
PROFILE = """TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
"""


class Missing(Exception):
    """A package that cannot be had here."""


def get(*command, cwd=None):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd)
    if done.returncode != 0:
        raise Missing(done.stdout.strip().split("\n")[-1])
    return done.stdout


def from_pypi(home, packages, scratch):
    """What NVIDIA's packages hold, one over the other."""
    tool = home.parent / "pip"
    if not (tool / "bin" / "pip").exists():
        try:
            venv.create(tool, with_pip=True, clear=True)
        except (subprocess.SubprocessError, OSError) as why:
            raise Missing(why)
    get(tool / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--retries", "1", "--timeout", "20",
        "--target", scratch / "pypi", *packages)
    for part in (scratch / "pypi" / "nvidia").iterdir():
        if part.is_dir():
            shutil.copytree(part, home, dirs_exist_ok=True)


def from_debian(home, package, release, scratch):
    """nvcc and what it calls, of a release that need not be this machine's; nothing is installed."""
    if not shutil.which("apt-get"):
        raise Missing("no apt-get")
    mirror = get("apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Created-By: Packages").split("\n")[0]
    if not mirror:
        raise Missing("apt-get knows no repository of Debian")
    apt = scratch / "apt"
    for folder in ("lists/partial", "archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s non-free\n" % (mirror, release))
    ask = ["apt-get", "-q", "-o", "APT::Sandbox::User=root"]
    for name, value in (("Etc::SourceList", "sources.list"), ("Etc::SourceParts", "none"), ("State::Lists", "lists"), ("State::Status", "status"),
                        ("Cache", "")):
        ask += ["-o", "Dir::%s=%s" % (name, apt / value)]
    get(*ask, "update")
    get(*ask, "download", package, cwd=apt)
    [archive] = apt.glob("*.deb")
    get("dpkg-deb", "-x", archive, apt / "root")
    programs, inner = apt / "root/usr/bin", apt / "root/usr/lib/nvidia-cuda-toolkit"
    for folder in ("bin", "nvvm/bin"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    for name in ("cudafe++", "ptxas", "fatbinary", "nvlink", "bin2c"):
        shutil.copy(programs / name, home / "bin")
    shutil.copy(inner / "bin/nvcc", home / "bin")
    shutil.copytree(inner / "bin/crt", home / "bin/crt", dirs_exist_ok=True)
    shutil.copy(inner / "bin/cicc", home / "nvvm/bin")
    shutil.copytree(inner / "libdevice", home / "nvvm/libdevice", dirs_exist_ok=True)
    (home / "bin/nvcc.profile").write_text(PROFILE)


def fetch(home, packages):
    """Makes the folder of a toolchain, where it is not there yet, of packages written NAME==VERSION (PyPI's) or NAME/RELEASE (Debian's)."""
    if (home / "complete").exists():
        return
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        scratch = pathlib.Path(folder)
        from_pypi(home, [name for name in packages if "==" in name], scratch)
        for name in packages:
            if "/" in name:
                from_debian(home, *name.split("/"), scratch)
    for program in [*home.glob("bin/*"), *home.glob("nvvm/bin/*")]:
        if program.is_file():
            program.chmod(0o755)
    (home / "complete").touch()
