import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { Cluster, Environment } from '@/api/types';
import { useWaitTexts } from '@/features/resources/useWaitTexts';
import { translateExact } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { ChoiceCard } from '@/ui/ChoiceCard';
import type { CompletedPreset } from './presets';
import classes from './StartPage.module.css';

/** The value of the custom choice; those of the others are the presets' names. */
export const CUSTOM = '(custom)';

interface Props {
  presets: readonly CompletedPreset[];
  cluster: Cluster;
  environment: Environment | undefined;
  chosen: string;
  onChoose: (name: string) => void;
}

/** Radio buttons: the site's presets, and custom resources. */
export function ResourceChoice({ presets, cluster, environment, chosen, onChoose }: Props) {
  const possible = presets.filter(({ problem }) => problem === undefined);
  const waitTexts = useWaitTexts(
    possible.map(({ values }) => values),
    cluster,
    environment && { environment: environment.name },
  );
  return (
    <div className={`${classes.cards} ${classes.presets}`}>
      {presets.map((completed) => {
        const { preset, values, problem } = completed;
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
              <span className={classes.quiet}>{waitTexts[possible.indexOf(completed)]}</span>
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
