"""What to say where MuJoCo finds no OpenGL to draw with."""

from __future__ import annotations

from emuq.errors import InputError


def no_opengl(error: Exception) -> InputError:
    """One line for what OpenGL's many layers say."""
    why = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(
        f"no OpenGL to draw with ({why}): set MUJOCO_GL to egl or osmesa and install the library it needs "
        "(Debian: libegl1 or libosmesa6), or unset it and do without pictures"
    )
