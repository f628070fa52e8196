"""From a request to a program in a Slurm job, without the portal's database and web framework.

  ssh         grants and host keys of SSH connections
  slurm       Slurm's commands and their output, the watcher, the job tracker
  catalog     environments, apps and job templates; the scripts and config files of jobs
  containers  runtimes of environments, kernelspecs, import of images
  launcher    the launcher, and the portal's connections to it
  files       the files program, which a launcher becomes
  node        the programs on the nodes; the portal never imports it
  jupyterhub  the hub's plug-ins; the portal never imports it

Words in this package:

  portal         the web application that owns all data and every Slurm job
  site           the installation: its administrators, settings and catalog folder
  hub            JupyterHub, which logs browsers in to the servers of sessions
  launcher       the program that acts as one user: sudo permits no other to run as a user
  node program   a program of spawner/node, which runs as the user on a compute node
  gate           the portal's answer to nginx: who may pass, and to which address on which node
  environment    container image, modules or virtualenv that kernels and jobs run in; the variables
                 of a process are its environment variables
  session        one JupyterLab in one Slurm job
  batch job      a job that the portal submits from a template or a script
  run            one start of a program or script: a requeue, or the restart of a TensorBoard,
                 begins another run
  external job   a job that its user submitted with sbatch, not through the portal

A module whose docstring says "Pure" does no I/O: no files, programs, network or clock. Its results
depend on its arguments only.
"""
