import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { ActionIcon } from '@mantine/core';
import type { Environment } from '@/api/types';
import { translate, translateExact } from '@/i18n/translate';
import choice from '@/ui/ChoiceCard.module.css';
import { Fold } from '@/ui/Fold';
import { Icon } from '@/ui/icons';
import { NameIcon } from '@/ui/NameIcon';
import classes from './EnvironmentCard.module.css';
import { contentRows } from './environments';

interface Props {
  environment: Environment;
  checked: boolean;
  favorite: boolean;
  onChoose: (name: string) => void;
  onToggleFavorite: (name: string) => void;
}

function softwareText({ language, version, cuda, packages }: Environment): string {
  return [version && `${language} ${version}`, cuda && `CUDA ${cuda}`, ...packages.slice(0, 4)]
    .filter(Boolean)
    .join(' · ');
}

/** An environment: a radio button, a toggle for favorites, and its contents. */
export function EnvironmentCard({
  environment,
  checked,
  favorite,
  onChoose,
  onToggleFavorite,
}: Props) {
  const { name, available } = environment;
  const title = translateExact(environment.title);
  return (
    <div
      className={`${choice.frame} ${classes.card}`}
      data-checked={checked}
      data-disabled={!available}
    >
      <label className={classes.choice}>
        <input
          className={choice.radio}
          type="radio"
          name="environment"
          value={name}
          checked={checked}
          disabled={!available}
          onChange={() => onChoose(name)}
        />
        <span className={choice.text}>
          <span className={`${choice.title} ${classes.title}`}>
            <NameIcon name={environment.framework ?? environment.language ?? name} />
            {title}
          </span>
          <span>{translateExact(environment.description)}</span>
          {available ? (
            <span className={classes.quiet}>{softwareText(environment)}</span>
          ) : (
            <span className={classes.why}>
              {translate(environment.unavailable_reason) ?? t`Not available on this cluster.`}
            </span>
          )}
        </span>
      </label>
      {available && (
        <>
          <ActionIcon
            className={classes.star}
            variant="subtle"
            color="gray"
            aria-pressed={favorite}
            aria-label={t`${title} is a favorite`}
            title={favorite ? t`Favorite: shown first` : t`Add to favorites`}
            onClick={() => onToggleFavorite(name)}
          >
            <Icon name="star" />
          </ActionIcon>
          <Fold className={classes.inside} summary={<Trans>Contents</Trans>}>
            <dl className={classes.facts}>
              {contentRows(environment).map(([label, value]) => (
                <div key={label}>
                  <dt>{label}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </Fold>
        </>
      )}
    </div>
  );
}
