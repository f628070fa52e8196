import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { errorMessage } from '@/api/problem';
import type { ResourceRequest, Session } from '@/api/types';
import { startAgain } from '@/features/sessions/actions';
import { recentSetupsQuery, setupsQuery, startSetup, unsavedSetups } from '@/features/start/setups';
import { translate, translateExact } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { toStartLink } from '@/lib/startLink';
import { Icon } from '@/ui/icons';
import { Time } from '@/ui/Time';
import { useAction } from '@/ui/useAction';
import classes from './StartAgain.module.css';

/** The maximum numbers of tiles: saved setups, then recently used ones. */
const MAX_SAVED = 6;
const MAX_RECENT = 3;

/** Sessions that can be started with one click: saved setups, and those of the last sessions. */
export function StartAgain() {
  const { data: saved, error: noneSaved } = useQuery(setupsQuery);
  const { data: used, error: noneUsed } = useQuery(recentSetupsQuery);
  const error = noneSaved ?? noneUsed;
  if (saved === undefined || used === undefined)
    return (
      error && (
        <p className={classes.failed}>
          {t`Your saved setups can't be shown.`} {errorMessage(error)}
        </p>
      )
    );
  const all = saved.length;
  const recent = unsavedSetups(used, saved).slice(0, MAX_RECENT);
  if (saved.length + recent.length === 0) return null;
  return (
    <section aria-labelledby="start-again">
      <h2 className={classes.heading} id="start-again">
        <Trans>Start again</Trans>
      </h2>
      <ul className={classes.tiles}>
        {saved.slice(0, MAX_SAVED).map((setup) => (
          <Tile key={setup.id} setup={setup} name={setup.name} start={() => startSetup(setup.id)} />
        ))}
        {recent.map((setup) => (
          <Tile
            key={JSON.stringify([setup.environment, setup.resources])}
            setup={setup}
            name={translateExact(setup.environment_title)}
            usedAt={setup.used_at}
            start={() => startAgain(setup)}
          />
        ))}
      </ul>
      {saved.length > MAX_SAVED && (
        <p className={classes.more}>
          <Link to="/start">
            <Trans>All {all} saved setups</Trans>
          </Link>
        </p>
      )}
    </section>
  );
}

interface TileProps {
  setup: {
    environment: string;
    environment_title: string;
    resources: ResourceRequest;
    problem: string | null;
  };
  name: string;
  /** the last start of a session with it, for a setup that is not saved */
  usedAt?: string;
  start: () => Promise<Session>;
}

function Tile({ setup, name, usedAt, start }: TileProps) {
  const navigate = useNavigate();
  const [busy, run] = useAction();
  // A second click may come before the button is rendered as busy.
  const started = useRef(false);
  const { environment, resources, problem } = setup;
  const title = translateExact(setup.environment_title);
  const about = [...(name === title ? [] : [title]), ...resourceTexts(resources)];

  const onStart = async (): Promise<void> => {
    if (started.current) return;
    started.current = true;
    await run(async () => {
      const session = await start();
      await navigate({ to: '/start-again/$name', params: { name: session.name } });
    });
    started.current = false;
  };

  return (
    <li className={classes.tile}>
      <div className={classes.text}>
        <strong className={classes.name}>{name}</strong>
        <span className={classes.quiet}>{about.join(' · ')}</span>
        {usedAt && (
          <span className={classes.quiet}>
            <Trans>
              last used <Time at={usedAt} />
            </Trans>
          </span>
        )}
        {problem && <span className={classes.why}>{translate(problem)}</span>}
      </div>
      <div className={classes.acts}>
        {problem === null && (
          <Button
            size="compact-sm"
            leftSection={<Icon name="play" size={16} />}
            loading={busy}
            onClick={() => void onStart()}
            aria-label={t`Start a session: ${{ setup: [name, ...about].join(', ') }}`}
          >
            <Trans>Start</Trans>
          </Button>
        )}
        <Link
          to="/start"
          search={toStartLink({ environment, resources })}
          className={classes.change}
          aria-label={t`Change before starting: ${name}`}
        >
          <Trans>Change…</Trans>
        </Link>
      </div>
    </li>
  );
}
