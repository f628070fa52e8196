"""Files: names on the cluster, the working folder, uploads and downloads."""
