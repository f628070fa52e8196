import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
import { useWindowed } from '@/features/files/useWindowed';
import { Term } from '@/features/glossary/Term';
import { joinWithCommas } from '@/i18n/lists';
import { translateExact } from '@/i18n/translate';
import { countText } from '@/lib/countText';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { conditionLabel, gpusShort, memoryCell } from './labels';
import classes from './NodeTable.module.css';
import { type ClusterSearch, type Column, sortBy, withChange } from './search';
import type { ClusterNode, NodePage } from './types';

const ROW_REM = 2.6;

interface Props {
  pages: readonly NodePage[];
  search: ClusterSearch;
  go: (next: ClusterSearch) => void;
  /** whether other rows are being fetched */
  busy: boolean;
  /** fetches the next page; undefined on the last one */
  more: (() => void) | undefined;
  fetchingMore: boolean;
}

/** The nodes as a table, in pages; rows outside the viewport are not rendered. */
export function NodeTable({ pages, search, go, busy, more, fetchingMore }: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const nodes = pages.flatMap(({ items }) => items);
  const { from, to } = useWindowed(body, nodes.length, ROW_REM);
  const { matching = 0, sees_addresses: addresses = false } = pages[0] ?? {};
  const columns = addresses ? 10 : 7;
  return (
    <div>
      <Paper className={classes.box}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it */}
        <section className={classes.scroll} aria-label={t`Table of nodes`} tabIndex={0}>
          <table className={classes.table} aria-rowcount={matching + 1} aria-busy={busy}>
            <thead>
              <Heads search={search} go={go} addresses={addresses} />
            </thead>
            <tbody ref={body}>
              <Spacer rows={from} columns={columns} />
              {nodes.slice(from, to).map((node, index) => (
                <Row
                  key={node.name}
                  node={node}
                  row={from + index + 2}
                  chosen={search.node === node.name}
                  choose={() => go(withChange(search, { node: node.name }))}
                  addresses={addresses}
                />
              ))}
              <Spacer rows={nodes.length - to} columns={columns} />
            </tbody>
          </table>
        </section>
      </Paper>
      {more && (
        <div className={classes.foot}>
          <span>
            {t`${{ shown: countText(nodes.length) }} of ${{ all: countText(matching) }} are shown.`}
          </span>
          <Button variant="default" loading={fetchingMore} onClick={more}>
            <Trans>Show more</Trans>
          </Button>
        </div>
      )}
    </div>
  );
}

/** Empty space in place of rows that are not rendered. */
function Spacer({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr>
      <td colSpan={columns} style={{ height: `${rows * ROW_REM}rem`, padding: 0 }} />
    </tr>
  );
}

interface HeadsProps extends Pick<Props, 'search' | 'go'> {
  addresses: boolean;
}

function Heads({ search, go, addresses }: HeadsProps) {
  return (
    <tr aria-rowindex={1}>
      <Head column="name" search={search} go={go}>
        <Trans>Node</Trans>
      </Head>
      <Head column="state" search={search} go={go}>
        <Trans>State</Trans>
      </Head>
      <Head column="gpus" search={search} go={go}>
        <Trans>GPUs</Trans>
      </Head>
      <Head column="cpus" search={search} go={go}>
        <Trans>CPUs free</Trans>
      </Head>
      <Head column="memory" search={search} go={go}>
        <Trans>Memory free</Trans>
      </Head>
      <Head column="partitions" search={search} go={go}>
        <Trans>Partitions</Trans>
      </Head>
      {addresses && (
        <>
          <th scope="col">
            <Term word="In-band">{t`In-band`}</Term>
          </th>
          <th scope="col">
            <Term word="InfiniBand">{t`InfiniBand`}</Term>
          </th>
          <th scope="col">
            <Term word="Management">{t({ message: 'Management', context: 'address' })}</Term>
          </th>
        </>
      )}
      <th scope="col">
        <Trans>Reason</Trans>
      </th>
    </tr>
  );
}

interface HeadProps extends Pick<Props, 'search' | 'go'> {
  column: Column;
  children: ReactNode;
}

function Head({ column, search, go, children }: HeadProps) {
  const now = (search.sort ?? 'name') === column;
  const way = search.desc ? 'descending' : 'ascending';
  return (
    <th scope="col" aria-sort={now ? way : 'none'}>
      <button type="button" className={classes.sort} onClick={() => go(sortBy(search, column))}>
        {children}
        {now && <span aria-hidden="true">{search.desc ? ' ↓' : ' ↑'}</span>}
      </button>
    </th>
  );
}

interface RowProps {
  node: ClusterNode;
  row: number;
  chosen: boolean;
  choose: () => void;
  addresses: boolean;
}

function Row({ node, row, chosen, choose, addresses }: RowProps) {
  const label = conditionLabel(node);
  const reason = translateExact(node.reason);
  return (
    <tr aria-rowindex={row} data-chosen={chosen}>
      <th scope="row">
        <button type="button" className={classes.name} aria-pressed={chosen} onClick={choose}>
          {node.name}
        </button>
      </th>
      <td>
        <StateChip tone={label.tone} label={label.label} />
      </td>
      <td>{node.gpus.length === 0 ? t`none` : node.gpus.map(gpusShort).join('; ')}</td>
      <td>{t`${{ free: node.cpus_free }} of ${{ total: node.cpus }}`}</td>
      <td>{memoryCell(node)}</td>
      <td>{joinWithCommas(node.partitions)}</td>
      {addresses && <Addresses node={node} />}
      <td className={classes.reason} title={reason ?? undefined}>
        {reason ?? ''}
        {node.reason && node.since && (
          <span className={classes.since}>
            {' '}
            <Trans>
              since <Time at={node.since} />
            </Trans>
          </span>
        )}
      </td>
    </tr>
  );
}

function Addresses({ node }: { node: ClusterNode }) {
  const { in_band, infiniband, management } = node.addresses ?? {};
  return (
    <>
      <td className={classes.address}>{in_band ?? '–'}</td>
      <td className={classes.address}>{infiniband ?? '–'}</td>
      <td className={classes.address}>{management ?? '–'}</td>
    </>
  );
}
