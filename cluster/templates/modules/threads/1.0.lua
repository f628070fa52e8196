whatis("Numerical libraries use as many threads as your job has CPUs on a node")
help([[Sets OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and MKL_NUM_THREADS to the CPUs that Slurm gave to
each task; outside a job to 1. Without it a library may start a thread for each CPU of the node.]])
local cpus = os.getenv("SLURM_CPUS_PER_TASK") or os.getenv("SLURM_CPUS_ON_NODE") or "1"
setenv("OMP_NUM_THREADS", cpus)
setenv("OPENBLAS_NUM_THREADS", cpus)
setenv("MKL_NUM_THREADS", cpus)
