# Startup file of each Python kernel of a session: makes `%tensorboard` and `tensorboard.notebook`
# show the session's own TensorBoard.
#
# TensorBoard's own magic starts a server on the node's loopback address, which no browser reaches.
# The magic below prints an output that the portal's JupyterLab extension renders as a frame. So a
# saved notebook contains no address and no secret. The functions of `tensorboard.notebook` are
# replaced when the module is imported.
#
# IPython runs this file because PYTHONSTARTUP names it. It must work with Python 2.7.


def _replace_tensorboard_magic(shell):
    import argparse
    import os
    import shlex
    import sys
    import time

    mime = "application/vnd.data-scientist-portal.tensorboard+json"
    notebook = "tensorboard.notebook"
    extensions = ("tensorboard", notebook)

    def parse(line):
        """Return the folder to show, None without one, and the options that have no effect."""
        parser = argparse.ArgumentParser(prog="%tensorboard", add_help=False)
        parser.add_argument("--logdir", "-logdir")
        words = line.encode("utf-8") if sys.version_info[0] == 2 else line
        known, ignored = parser.parse_known_args(shlex.split(words))
        return known.logdir, ignored

    def tensorboard(line):
        """Show the session's TensorBoard; --logdir FOLDER: the runs in that folder."""
        from IPython.display import display

        try:
            logdir, ignored = parse(line)
        except (SystemExit, ValueError):
            print("Usage: %tensorboard [--logdir FOLDER]")
            return
        if ignored:
            print("The session's TensorBoard has no such options: " + " ".join(ignored))
        folder = os.path.abspath(os.path.expanduser(logdir)) if logdir else None
        text = "TensorBoard of this session" + (": " + folder if folder else "")
        # The time of the run: an older output, shown again, must not change the current folder.
        data = {"logdir": folder, "asked": time.time()}
        display({mime: data, "text/plain": text}, raw=True)

    def show_current(port=None, height=None):
        """Show the session's TensorBoard. Ports and heights have no effect."""
        tensorboard("")

    def print_instances():
        """Print that the session has one TensorBoard."""
        print("The session has one TensorBoard. tensorboard.notebook.display() shows it.")

    def replace_functions(module):
        module.start, module.display, module.list = tensorboard, show_current, print_instances

    class NotebookFinder(object):
        """Imports `tensorboard.notebook` and replaces its functions."""

        def find_spec(self, name, path=None, target=None):
            if name != notebook:
                return None
            from importlib.machinery import PathFinder

            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def exec_module(module):
                    execute(module)
                    replace_functions(module)

                spec.loader.exec_module = exec_module
            return spec

        def find_module(self, name, path=None):  # Python 2.7
            if name != notebook:
                return None
            self.path = path
            return self

        def load_module(self, name):
            import imp

            source, found, kind = imp.find_module(name.rpartition(".")[2], self.path)
            with source:
                module = imp.load_module(name, source, found, kind)
            replace_functions(module)
            return module

    def skip_extensions(name):
        """Return `manager.name` without effect on TensorBoard's extension."""
        original = getattr(manager, name)

        def wrapped(module):
            return None if module in extensions else original(module)

        return wrapped

    manager = shell.extension_manager
    for name in ("load_extension", "reload_extension"):
        setattr(manager, name, skip_extensions(name))
    shell.register_magic_function(tensorboard, "line", "tensorboard")
    sys.meta_path.insert(0, NotebookFinder())


if "get_ipython" in globals():
    _replace_tensorboard_magic(get_ipython())  # noqa: F821 - IPython provides it
del _replace_tensorboard_magic
