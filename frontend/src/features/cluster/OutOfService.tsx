import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { written } from '@/i18n/said';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Cluster.module.css';
import { sorted } from './picture';
import { type ClusterSearch, changed } from './search';
import type { SeenNode } from './shapes';
import { conditionWords } from './words';

const MOST = 8;

interface Props {
  nodes: readonly SeenNode[];
  search: ClusterSearch;
}

/** The nodes that take no work, and why; nothing where all do. */
export function OutOfService({ nodes, search }: Props) {
  const out = sorted(
    nodes.filter((node) => !node.takes_work),
    {},
  );
  if (out.length === 0) return null;
  const rest = changed(search, { view: 'table', show: 'out', node: undefined });
  return (
    <section className={classes.section} aria-labelledby="out-title">
      <h2 id="out-title" className={classes.title}>
        <Trans>Out of service</Trans>
      </h2>
      <Paper component="ul" className={classes.list}>
        {out.slice(0, MOST).map((node) => (
          <Out key={node.name} node={node} />
        ))}
        {out.length > MOST && (
          <li>
            <Link to="/cluster" search={rest} resetScroll={false}>
              {t`All ${{ total: out.length }} nodes that are out of service`}
            </Link>
          </li>
        )}
      </Paper>
    </section>
  );
}

function Out({ node }: { node: SeenNode }) {
  const words = conditionWords(node);
  return (
    <li>
      <strong>{node.name}</strong> <StateChip tone={words.tone} label={words.label} />{' '}
      <span>{written(node.reason) ?? words.means}</span>
      {node.reason && node.since && (
        <span className={classes.quiet}>
          {' '}
          <Trans>
            since <Time at={node.since} />
          </Trans>
        </span>
      )}
    </li>
  );
}
