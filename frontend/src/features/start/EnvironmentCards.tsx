import type { Environment } from '@/api/types';
import { ChoiceCard } from '@/ui/ChoiceCard';
import classes from './StartPage.module.css';

interface Props {
  environments: Environment[];
  chosen: string | null;
  onChoose: (name: string) => void;
}

function technical({ language, version, cuda, packages }: Environment): string {
  return [version && `${language} ${version}`, cuda && `CUDA ${cuda}`, ...packages.slice(0, 4)]
    .filter(Boolean)
    .join(' · ');
}

export function EnvironmentCards({ environments, chosen, onChoose }: Props) {
  return (
    <fieldset className={classes.group}>
      <legend>Environment</legend>
      <div className={classes.cards}>
        {environments.map((environment) => (
          <ChoiceCard
            key={environment.name}
            group="environment"
            value={environment.name}
            title={environment.title}
            checked={environment.name === chosen}
            disabled={!environment.available}
            onChoose={onChoose}
          >
            <span>{environment.description}</span>
            {environment.available ? (
              <span className={classes.quiet}>{technical(environment)}</span>
            ) : (
              <span className={classes.why}>
                {environment.unavailable_reason ?? 'Not available on this cluster.'}
              </span>
            )}
          </ChoiceCard>
        ))}
      </div>
    </fieldset>
  );
}
