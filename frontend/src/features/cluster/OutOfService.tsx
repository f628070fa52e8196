import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { translateExact } from '@/i18n/translate';
import { countText } from '@/lib/countText';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import classes from './Cluster.module.css';
import { conditionLabel } from './labels';
import { type ClusterSearch, unfiltered, withChange } from './search';
import type { ClusterNode, NodePage } from './types';

interface Props {
  /** the first of them */
  page: NodePage;
  search: ClusterSearch;
}

/** The nodes out of service with their reasons; empty if there are none. */
export function OutOfService({ page, search }: Props) {
  const { items, matching } = page;
  if (matching === 0) return null;
  const rest = withChange(unfiltered(search), { view: 'table', show: 'out', node: undefined });
  return (
    <section className={classes.section} aria-labelledby="out-title">
      <h2 id="out-title" className={classes.title}>
        <Trans>Out of service</Trans>
      </h2>
      <Paper component="ul" className={classes.list}>
        {items.map((node) => (
          <Out key={node.name} node={node} />
        ))}
        {matching > items.length && (
          <li>
            <Link to="/cluster" search={rest} resetScroll={false}>
              {t`All ${{ total: countText(matching) }} nodes that are out of service`}
            </Link>
          </li>
        )}
      </Paper>
    </section>
  );
}

function Out({ node }: { node: ClusterNode }) {
  const label = conditionLabel(node);
  return (
    <li>
      <strong>{node.name}</strong> <StateChip tone={label.tone} label={label.label} />{' '}
      <span>{translateExact(node.reason) ?? label.means}</span>
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
