import { t } from '@lingui/core/macro';
import classes from './ClusterPanel.module.css';
import { nodeText } from './nodeText';
import type { ClusterNode, NodeGpus } from './types';

/** One dot for each GPU; above this number they are shown as text. */
const MAX_DOTS = 16;

function Dots({ gpu }: { gpu: NodeGpus }) {
  const { free, out, total, type } = gpu;
  const used = total - free - out;
  const label = t`${used} of ${total} ${type} GPUs in use`;
  if (total > MAX_DOTS)
    return (
      <span title={label}>
        {used}/{total}
      </span>
    );
  return (
    <span className={classes.dots} role="img" aria-label={label} title={label}>
      {Array.from({ length: total }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the dots have no identity but their place
        <span key={index} className={index < used ? classes.used : classes.free} />
      ))}
    </span>
  );
}

export function NodeRow({ node }: { node: ClusterNode }) {
  const usable = node.takes_work;
  return (
    <li className={usable ? classes.node : `${classes.node} ${classes.out}`}>
      <p>
        <span>{node.name}</span>
        {usable && node.gpus.map((gpu) => <Dots key={gpu.type} gpu={gpu} />)}
      </p>
      <span className={classes.detail}>{nodeText(node)}</span>
    </li>
  );
}
