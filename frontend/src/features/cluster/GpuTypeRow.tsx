import { Trans } from '@lingui/react/macro';
import type { GpuCount } from '@/api/types';
import { UsedBar } from '@/ui/UsedBar';
import classes from './ClusterPanel.module.css';

export function GpuTypeRow({ gpu }: { gpu: GpuCount }) {
  const { free, total } = gpu;
  const used = total - free;
  return (
    <li className={classes.type}>
      <p>
        <span className={classes.gpu}>{gpu.type}</span>
        <span>
          <Trans>
            <strong>{used}</strong> of {total} GPUs in use
          </Trans>
        </span>
      </p>
      <UsedBar used={used} total={total} />
    </li>
  );
}
