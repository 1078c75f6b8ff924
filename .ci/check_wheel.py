"""What a user gets by `pip install emuq`: the wheel in a new environment, without any extra.

    python .ci/check_wheel.py dist        (`make wheel` builds dist/ and runs this)

The dependencies are the versions of constraints.txt. It exits with an error where something is not as told.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NO_PICTURE = "no picture was drawn: matplotlib is not installed: pip install 'emuq[plot]'"
DEMO = ("first goal, EMU-Q", "then, at kappa = 0", NO_PICTURE)
MISSING = {  # a program that needs an extra, and the extra that its error names
    "import emuq; emuq.VIME": "baselines",
    "import emuq; emuq.callbacks.TensorBoard('runs')": "tensorboard",
    "import gymnasium as gym, emuq; gym.make('emuq/LunarLander-v0')": "box2d",
    "import gymnasium as gym, emuq; gym.make('emuq/Jaco-v0')": "mujoco",
}


def run(*command: str | Path, where: Path, fails: bool = False) -> str:
    """What a command says; an error if it fails, or with `fails` if it does not."""
    ended = subprocess.run(
        [str(part) for part in command], cwd=where, capture_output=True, text=True, timeout=600
    )
    said = ended.stdout + ended.stderr
    if (ended.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{said}")
    return said


def expect(text: str, said: str) -> None:
    if text not in " ".join(said.split()):
        sys.exit(f"expected {text!r} in:\n{said}")


def check_tag(version: str) -> None:
    """A commit that is tagged as a version has that version."""
    if not (ROOT / ".git").exists():
        return
    for tag in run("git", "tag", "--points-at", "HEAD", where=ROOT).split():
        if re.fullmatch(r"v\d.*", tag) and tag != f"v{version}":
            sys.exit(f"the tag is {tag}, emuq.__version__ is {version}")


def main(dist: Path) -> None:
    [wheel], [source] = dist.glob("emuq-*.whl"), dist.glob("emuq-*.tar.gz")
    version = wheel.name.split("-")[1]
    check_tag(version)
    with tarfile.open(source) as archive:
        if not any(name.endswith("/LICENSE") for name in archive.getnames()):
            sys.exit(f"{source.name} has no LICENSE")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        python = here / "venv" / "bin" / "python"
        run(sys.executable, "-m", "venv", here / "venv", where=here)
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "-c", ROOT / "constraints.txt", wheel.resolve(), where=here)
        expect(version, run(python, "-c", "import emuq; print(emuq.__version__)", where=here))
        for command in ("--version", "--help", "envs"):
            run(python.with_name("emuq"), command, where=here)
        said = run(python.with_name("emuq"), "demo", where=here)
        print(said)
        for text in DEMO:
            expect(text, said)
        for program, extra in MISSING.items():
            expect(f"pip install 'emuq[{extra}]'", run(python, "-c", program, where=here, fails=True))
    print(f"{wheel.name} works without extras, and names the extra where one is missing")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
