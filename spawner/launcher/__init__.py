"""The launcher, the only program that runs as a user, and the pools that keep it open.

program.py                   runs as the user: the launcher itself, installed as a single file
folders.py                   runs in the files program, which runs as the user, and the portal
pool.py, file_pool.py        run in the portal, as do the other modules: one pool of launchers, one
                             of files programs
connection.py, log.py        one launcher's requests and answers, and its reports
file_answers.py, file_names.py
                             validation of the files program's answers
sbatch.py                    sbatch's options for a job
installed.py                 contents of the files that are installed for sudo
"""
