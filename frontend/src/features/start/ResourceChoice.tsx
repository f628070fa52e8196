import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { translateExact } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { ChoiceCard } from '@/ui/ChoiceCard';
import type { Draft, Problems } from './check';
import type { Offer } from './draft';
import classes from './StartPage.module.css';

export const OWN = '(own)';

interface Props {
  offers: readonly Offer[];
  /** what is wrong with a choice */
  check: (draft: Draft) => Problems;
  chosen: string;
  onChoose: (name: string) => void;
}

/** The site's presets, and the way to one's own numbers. */
export function ResourceChoice({ offers, check, chosen, onChoose }: Props) {
  return (
    <div className={`${classes.cards} ${classes.presets}`}>
      {offers.map(({ preset, draft }) => {
        const problem = Object.values(check(draft))[0];
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
            <span className={classes.quiet}>{resourceTexts(draft).join(' · ')}</span>
            {problem && <span className={classes.why}>{problem}</span>}
          </ChoiceCard>
        );
      })}
      <ChoiceCard
        group="preset"
        value={OWN}
        title={t`My own numbers`}
        checked={chosen === OWN}
        onChoose={onChoose}
      >
        <span>
          <Trans>GPUs, CPUs, memory and time as you need them</Trans>
        </span>
      </ChoiceCard>
    </div>
  );
}
