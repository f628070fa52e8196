"""Outputs of running cells, kept by the session's server and written into the notebook.

`cell_outputs` and `executions` are pure; `kernels` and `contents` extend Jupyter Server's classes;
`writer` decides when a notebook is written, and `notebook_file` is the program that writes it. A
*page* is one connection of JupyterLab to a kernel.
"""
