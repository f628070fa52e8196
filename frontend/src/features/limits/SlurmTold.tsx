import type { SlurmSays } from '@/api/types';
import { said } from '@/i18n/said';
import { StateChip } from '@/ui/StateChip';
import classes from './Limits.module.css';
import { slurmWords } from './words';

/** Whether Slurm has a limit, and what it said to it. */
export function SlurmTold({ slurm }: { slurm: SlurmSays }) {
  return (
    <div className={classes.told}>
      <StateChip {...slurmWords(slurm.state)} />
      {slurm.message && (
        <span className={slurm.state === 'refused' ? classes.refused : classes.quiet}>
          {said(slurm.message)}
        </span>
      )}
    </div>
  );
}
