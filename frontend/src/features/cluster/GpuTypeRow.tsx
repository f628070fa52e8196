import { Trans } from '@lingui/react/macro';
import type { GpuCount } from '@/api/types';
import classes from './ClusterPanel.module.css';

export function GpuTypeRow({ gpu }: { gpu: GpuCount }) {
  const { free, total } = gpu;
  const share = total === 0 ? 0 : (100 * free) / total;
  return (
    <li className={classes.type}>
      <p>
        <span className={classes.gpu}>{gpu.type}</span>
        <span>
          <Trans>
            <strong>{free}</strong> of {total} GPUs
          </Trans>
        </span>
      </p>
      <div className={classes.track} aria-hidden="true">
        <div style={{ width: `${share}%` }} />
      </div>
    </li>
  );
}
