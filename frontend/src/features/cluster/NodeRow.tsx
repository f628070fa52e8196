import { t } from '@lingui/core/macro';
import type { ClusterNode, GpuCount } from '@/api/types';
import classes from './ClusterPanel.module.css';
import { isUsable, nodeText } from './nodes';

/** One dot for each GPU; above this number they are shown as text. */
const MOST_DOTS = 16;

function Dots({ gpu }: { gpu: GpuCount }) {
  const { free, total, type } = gpu;
  const used = total - free;
  const label = t`${used} of ${total} ${type} GPUs in use`;
  if (total > MOST_DOTS)
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
  const usable = isUsable(node);
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
