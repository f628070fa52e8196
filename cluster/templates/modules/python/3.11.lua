whatis("Python 3.11 with NumPy, tensorboardX and a kernel for Jupyter")
help([[Puts `python3` and `pip` of a virtualenv first in PATH. What you install with pip in one of the
portal's environments goes to your own folder.]])
prepend_path("PATH", "$science/bin")
