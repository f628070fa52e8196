"""Programs that run on a compute node, as the user.

Their folders, by the names in the code:

  runtime_dir   the virtualenv of these programs, on a file system of all nodes; the site's setting
  job directory (job_dir)
                a folder of one session, job or TensorBoard in the user's home, made by the
                portal: scripts, config.json, logs
  node directory (node_dir)
                a private folder of one session, job or TensorBoard on the node's own disk, made by
                node_setup.py: sockets, certificates. In config.json, `runtime_dir_prefix` is the
                start of its path; jobs of earlier releases have this key.
  working directory (workdir)
                the folder in which Slurm starts a batch job
"""
