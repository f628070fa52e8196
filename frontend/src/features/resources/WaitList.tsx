import classes from './Resources.module.css';

interface Props {
  label: string;
  items: readonly (readonly [name: string, wait: string | undefined])[];
}

/** The expected waits of a form's choices; nothing without any. */
export function WaitList({ label, items }: Props) {
  if (items.length === 0) return null;
  return (
    <ul className={classes.waits} aria-label={label}>
      {items.map(([name, wait]) => (
        <li key={name}>
          {name} · {wait}
        </li>
      ))}
    </ul>
  );
}
