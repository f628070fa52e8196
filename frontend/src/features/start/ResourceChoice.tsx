import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { Cluster, Environment } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { ChoiceCard } from '@/ui/ChoiceCard';
import classes from './StartPage.module.css';
import { useWaits } from './useWaits';
import type { Offer } from './values';

export const CUSTOM = '(own)';

interface Props {
  offers: readonly Offer[];
  cluster: Cluster;
  environment: Environment | undefined;
  chosen: string;
  onChoose: (name: string) => void;
}

/** Radio buttons: the site's presets and the user's own numbers. */
export function ResourceChoice({ offers, cluster, environment, chosen, onChoose }: Props) {
  const possible = offers.filter(({ problem }) => problem === undefined);
  const waits = useWaits(
    possible.map(({ values }) => values),
    cluster,
    environment && { environment: environment.name },
  );
  return (
    <div className={`${classes.cards} ${classes.presets}`}>
      {offers.map((offer) => {
        const { preset, values, problem } = offer;
        return (
          <ChoiceCard
            key={preset.name}
            group="preset"
            value={preset.name}
            title={translateExact(preset.title)}
            checked={preset.name === chosen}
            disabled={problem !== undefined}
            onChoose={onChoose}
          >
            {preset.description && <span>{translateExact(preset.description)}</span>}
            <span className={classes.quiet}>{resourceTexts(values).join(' · ')}</span>
            {problem ? (
              <span className={classes.why}>{problem}</span>
            ) : (
              <span className={classes.quiet}>{waits[possible.indexOf(offer)]}</span>
            )}
          </ChoiceCard>
        );
      })}
      <ChoiceCard
        group="preset"
        value={CUSTOM}
        title={t`Custom`}
        checked={chosen === CUSTOM}
        onChoose={onChoose}
      >
        <span>
          <Trans>GPUs, CPUs, memory and time as you need them</Trans>
        </span>
      </ChoiceCard>
    </div>
  );
}
