import classes from './UsedBar.module.css';

interface Props {
  used: number;
  total: number;
  /** by default `tight` once all is used */
  level?: 'fine' | 'tight' | 'full';
  /** makes it a progress bar; without it the bar is decorative, and the text beside it has both
   * numbers */
  label?: string;
}

/** The used part of a total. */
export function UsedBar({ used, total, level, label }: Props) {
  const share = total <= 0 ? 0 : Math.min(1, Math.max(0, used / total));
  const aria =
    label === undefined
      ? { 'aria-hidden': true }
      : {
          role: 'progressbar',
          'aria-label': label,
          'aria-valuenow': Math.round(100 * share),
          'aria-valuemin': 0,
          'aria-valuemax': 100,
        };
  return (
    <span className={classes.track} {...aria}>
      <span
        data-level={level ?? (total > 0 && used >= total ? 'tight' : 'fine')}
        style={{ width: `${100 * share}%` }}
      />
    </span>
  );
}
