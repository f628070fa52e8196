import { hueOf, initialsOf, logoOf } from './logos';
import classes from './NameIcon.module.css';

interface Props {
  name: string;
  /** as high as a line of text */
  small?: boolean;
}

/** The logo of a framework, language or app, or a tile with its initials; hidden from screen readers,
 * because the name stands beside it. */
export function NameIcon({ name, small = false }: Props) {
  const logo = logoOf(name);
  const tile = { className: classes.tile, 'data-small': small || undefined, 'aria-hidden': true };
  if (logo === undefined)
    return (
      <span {...tile} data-hue={hueOf(name)}>
        {initialsOf(name)}
      </span>
    );
  return (
    <span {...tile}>
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d={logo.path} fill={`#${logo.hex}`} />
      </svg>
    </span>
  );
}
