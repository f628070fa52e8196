"""The launcher, the only program that runs as another user, and the pools that keep it open."""
