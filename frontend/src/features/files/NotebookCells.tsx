import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Plain } from './Contents';
import classes from './Preview.module.css';
import type { Cell, CellOutput, Notebook } from './types';

/** A read-only view of a notebook's cells. */
export function NotebookCells({ notebook }: { notebook: Notebook }) {
  if (notebook.cells.length === 0)
    return (
      <p className={classes.quiet}>
        <Trans>This notebook has no cells.</Trans>
      </p>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section className={classes.cells} tabIndex={0} aria-label={t`Cells`}>
      {notebook.cells.map((cell, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: cells never change their places
        <CellView key={index} cell={cell} />
      ))}
    </section>
  );
}

function CellView({ cell }: { cell: Cell }) {
  const label =
    cell.kind === 'code'
      ? `In [${cell.execution_count ?? ' '}]`
      : cell.kind === 'raw'
        ? t`Raw`
        : '';
  return (
    <div className={classes.cell}>
      {label && <span className={classes.quiet}>{label}</span>}
      {(cell.source !== '' || cell.kind === 'code') && (
        <Plain text={cell.source} className={cell.kind === 'code' ? '' : classes.wrap} />
      )}
      {cell.outputs.map((output, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: outputs never change their places
        <Output key={index} output={output} />
      ))}
    </div>
  );
}

const IMAGES = ['image/png', 'image/jpeg'];

function Output({ output }: { output: CellOutput }) {
  const { kind, text, data_b64: data, image_type: type } = output;
  if (kind === 'image' && data && type && IMAGES.includes(type))
    return (
      <img
        className={classes.image}
        src={`data:${type};base64,${data}`}
        alt={t`Output of the cell`}
      />
    );
  return <Plain text={text ?? ''} className={kind === 'error' ? classes.error : ''} />;
}
