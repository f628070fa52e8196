import type { GpuCount } from '@/api/types';
import classes from './ClusterPanel.module.css';

export function GpuTypeRow({ gpu }: { gpu: GpuCount }) {
  const share = gpu.total === 0 ? 0 : (100 * gpu.free) / gpu.total;
  return (
    <li className={classes.type}>
      <p>
        <span className={classes.gpu}>{gpu.type}</span>
        <span>
          <strong>{gpu.free}</strong> of {gpu.total} GPUs
        </span>
      </p>
      <div className={classes.track} aria-hidden="true">
        <div style={{ width: `${share}%` }} />
      </div>
    </li>
  );
}
