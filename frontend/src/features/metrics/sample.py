import os

from tensorboardX import SummaryWriter  # or torch.utils.tensorboard

log = SummaryWriter(os.environ["PORTAL_LOGDIR"])
for step in range(100):
    log.add_scalar("loss", 1 / (step + 1), step)
log.close()
