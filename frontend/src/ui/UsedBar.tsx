import classes from './UsedBar.module.css';

interface Props {
  used: number;
  total: number;
}

/** The used part of a total. Decorative: the text beside it has both numbers. */
export function UsedBar({ used, total }: Props) {
  const share = total <= 0 ? 0 : Math.min(1, Math.max(0, used / total));
  return (
    <div className={classes.track} aria-hidden="true">
      <div data-full={total > 0 && used >= total} style={{ width: `${100 * share}%` }} />
    </div>
  );
}
