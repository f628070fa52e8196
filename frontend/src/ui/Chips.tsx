import { t } from '@lingui/core/macro';
import { Loader, UnstyledButton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import classes from './Chips.module.css';
import { useAction } from './useAction';

interface Props {
  label: string;
  names: readonly string[];
  /** the kind of page that a name links to; no link without it */
  to?: 'group' | 'user';
  /** no buttons without it */
  onRemove?: ((name: string) => Promise<unknown>) | undefined;
  /** the button's label, such as "Remove alice from physics" */
  removeLabel?: (name: string) => string;
}

/** Names, each with a button that removes it. */
export function Chips({ label, names, to, onRemove, removeLabel }: Props) {
  return (
    <ul className={classes.chips} aria-label={label}>
      {names.map((name) => (
        <Chip key={name} name={name} to={to} onRemove={onRemove} label={removeLabel?.(name)} />
      ))}
    </ul>
  );
}

interface ChipProps {
  name: string;
  to: Props['to'];
  onRemove: Props['onRemove'];
  label: string | undefined;
}

function Chip({ name, to, onRemove, label }: ChipProps) {
  const [busy, run] = useAction();
  return (
    <li className={classes.chip}>
      {to === 'group' && (
        <Link to="/admin/groups/$group" params={{ group: name }}>
          {name}
        </Link>
      )}
      {to === 'user' && (
        <Link to="/admin/users/$username" params={{ username: name }}>
          {name}
        </Link>
      )}
      {to === undefined && <span>{name}</span>}
      {onRemove && (
        <UnstyledButton
          className={classes.remove}
          aria-label={label ?? t`Remove ${name}`}
          disabled={busy}
          onClick={() => void run(() => onRemove(name))}
        >
          {busy ? <Loader size={12} /> : <span aria-hidden="true">×</span>}
        </UnstyledButton>
      )}
    </li>
  );
}
