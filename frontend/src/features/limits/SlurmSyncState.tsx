import type { SlurmSays } from '@/api/types';
import { translate } from '@/i18n/translate';
import { StateChip } from '@/ui/StateChip';
import classes from './Limits.module.css';
import { slurmStateLabel } from './labels';

/** The state of a limit in Slurm, with Slurm's message. */
export function SlurmSyncState({ slurm }: { slurm: SlurmSays }) {
  return (
    <div className={classes.syncState}>
      <StateChip {...slurmStateLabel(slurm.state)} />
      {slurm.message && (
        <span className={slurm.state === 'refused' ? classes.refused : classes.quiet}>
          {translate(slurm.message)}
        </span>
      )}
    </div>
  );
}
