import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { Notice } from '@/ui/Notice';
import { NotebookCells } from './NotebookCells';
import classes from './Preview.module.css';
import { fileNameOf } from './paths';
import { imageAddress } from './queries';
import type { FileLocation, Preview, Table } from './types';

/** The beginning of a file. It is always shown as text or as an image, never as HTML. */
export function Contents({ location, preview }: { location: FileLocation; preview: Preview }) {
  return (
    <>
      <Kind location={location} preview={preview} />
      {preview.truncated && (
        <p className={classes.quiet}>
          <Trans>Only the beginning is shown. Download the file to see the rest.</Trans>
        </p>
      )}
    </>
  );
}

function Kind({ location, preview }: { location: FileLocation; preview: Preview }) {
  const { kind, text, table, notebook } = preview;
  if (kind === 'empty')
    return (
      <p className={classes.quiet}>
        <Trans>This file is empty.</Trans>
      </p>
    );
  if (kind === 'image') return <Image location={location} version={preview.version} />;
  if (kind === 'csv' && table) return <Rows table={table} />;
  if (kind === 'notebook' && notebook) return <NotebookCells notebook={notebook} />;
  if (text !== null && text !== undefined) return <Plain text={text} />;
  return (
    <p className={classes.quiet}>
      <Trans>This kind of file has no preview.</Trans>
    </p>
  );
}

/** Text in a box that is focusable, so that it can be scrolled by keyboard. */
export function Plain({ text, className = '' }: { text: string; className?: string | undefined }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <pre className={`${classes.text} ${className}`} tabIndex={0}>
      {text}
    </pre>
  );
}

function Image({ location, version }: { location: FileLocation; version: string }) {
  const [broken, setBroken] = useState(false);
  if (broken)
    return (
      <Notice tone="warning">
        <Trans>This image can't be shown. Download it to look at it.</Trans>
      </Notice>
    );
  return (
    <img
      className={classes.image}
      src={imageAddress(location, version)}
      alt={escapeInvisible(fileNameOf(location.path))}
      onError={() => setBroken(true)}
    />
  );
}

function Rows({ table }: { table: Table }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section className={classes.scroll} tabIndex={0} aria-label={t`Rows`}>
      <table>
        <thead>
          <tr>
            {table.columns.map((column, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns may have the same name
              <th key={index} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never change their places
            <tr key={index}>
              {row.map((value, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells never change their places
                <td key={column}>{value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
