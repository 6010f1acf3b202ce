#!/usr/bin/env bash
# A real SLURM on this one machine, for tests: controller, node daemon and munge on loopback, two partitions, two GPUs.
#
#     tests/slurm/cluster.sh up FOLDER PID     start it, its state in FOLDER; stop it when the process PID has ended
#     tests/slurm/cluster.sh down FOLDER       stop it and take its configuration out of /etc/slurm again
#     tests/slurm/cluster.sh crash FOLDER      kill the controller, as a failing head node would, once it has saved what runs
#     tests/slurm/cluster.sh revive FOLDER     start the controller again, with the state it had
#
# Needs root, and Debian's packages slurm-wlm and munge. The configuration stands in /etc/slurm, because Snakemake's plugin removes
# every SLURM_* variable from its jobs' environment, SLURM_CONF among them. A configuration that is not of this script stays untouched.
set -euo pipefail

mark="# bert-judge test cluster"
conf=/etc/slurm/slurm.conf
socket=/run/munge/munge.socket.2

die() { echo "error: $*" >&2; exit 1; }

write_configuration() {
    # More CPUs and memory than the machine has: the tests' jobs hardly use what they ask for.
    # A gpu gres of a mere count is refused; two character devices stand in for the cards.
    mknod "$dir/gpu0" c 1 3
    mknod "$dir/gpu1" c 1 5
    mkdir -p /etc/slurm
    cat >/etc/slurm/gres.conf <<END
$mark
AutoDetect=off
NodeName=localhost Name=gpu File=$dir/gpu[0-1]
END
    cat >"$conf" <<END
$mark in $dir
ClusterName=toy
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
MpiDefault=none
# Neither cgroups nor pinned cores: containers have no right to them.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# Without cgroups, memory is watched by samples, one a second.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
ReturnToService=2
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
# There is no accounting: finished jobs stay visible to squeue for this long.
MinJobAge=86400
# Grace between SIGTERM and SIGKILL.
KillWait=30
# A requeued job waits until its old credential has expired; two minutes otherwise.
AuthInfo=cred_expire=10
JobRequeue=1
MessageTimeout=30
SlurmdParameters=config_overrides
NodeName=localhost NodeHostname=localhost NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
PartitionName=cpu Nodes=localhost Default=YES MaxTime=1-00:00:00 DefMemPerCPU=500 State=UP
PartitionName=gpu Nodes=localhost Default=NO MaxTime=0-12:00:00 DefMemPerCPU=500 State=UP
AccountingStorageType=accounting_storage/none
END
}

wait_for_idle() {
    for _ in $(seq 360); do
        sinfo --noheader --format=%t 2>/dev/null | grep -Eq 'idle|mix|alloc' && return
        sleep 0.5
    done
    tail -n 20 "$dir"/*.log >&2
    die "SLURM did not come up in three minutes; its last lines stand above"
}

# One at a time on a machine: another run of these tests is waited for, and what a dead one left behind is removed.
wait_for_turn() {
    exec 9>/run/bert-judge-slurm.lock
    flock --timeout 1800 9 || die "the SLURM of another run of these tests has been up for half an hour"
    [[ -e $conf ]] || return 0
    grep -q "^$mark" "$conf" || die "$conf is not of this script: this machine has a SLURM already"
    "$0" down "$(sed -n "1s/^$mark in //p" "$conf")"
}

up() {
    [[ $EUID == 0 ]] || die "only root can start SLURM's daemons"
    for program in munged slurmctld slurmd; do
        command -v "$program" >/dev/null || die "$program is not installed: apt-get install slurm-wlm munge"
    done
    wait_for_turn
    mkdir -p "$dir"/{state,spool} /run/munge
    chmod 755 /run/munge
    head -c 1024 /dev/urandom >"$dir/munge.key"
    chmod 400 "$dir/munge.key"
    write_configuration
    # It holds the lock for as long as this SLURM is up; the daemons must not.
    setsid "$0" watch "$dir" "$1" </dev/null >/dev/null 2>&1 &
    exec 9>&-
    munged --force --key-file="$dir/munge.key" --socket="$socket" --pid-file="$dir/munged.pid" \
        --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
    slurmctld -c
    slurmd -N localhost
    wait_for_idle
}

# A test run that was killed takes nothing away itself.
watch() {
    while kill -0 "$1" 2>/dev/null && is_own; do sleep 1; done
    down
}

is_own() { grep -qx "$mark in $dir" "$conf" 2>/dev/null; }

stop() {
    local pid
    pid=$(cat "$dir/$1.pid" 2>/dev/null) || return 0
    kill "-${2:-TERM}" "$pid" 2>/dev/null || return 0
    for _ in $(seq 50); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
}

# The controller writes what has changed every five seconds. One that dies before it has written that a job runs starts that job
# again while it still runs, and closes the node over the clash for good.
crash() {
    local saved="$dir/state/job_state" asked="$dir/asked" id
    touch "$asked"
    for id in $(squeue --noheader --states=RUNNING --format=%A); do scontrol update JobId="$id" AdminComment=to-be-saved; done
    for _ in $(seq 300); do
        if [[ $saved -nt $asked ]]; then
            stop slurmctld KILL
            return
        fi
        sleep 0.1
    done
    die "the controller has not saved its state for half a minute"
}

down() {
    if is_own; then
        # Steps outlive the daemons: end them first.
        timeout 10 scancel --signal=KILL --state=RUNNING --user="$USER_NAME" 2>/dev/null || true
        timeout 10 scancel --state=PENDING --user="$USER_NAME" 2>/dev/null || true
    fi
    stop slurmd
    stop slurmctld
    stop munged
    if is_own; then rm -f "$conf" /etc/slurm/gres.conf; fi
}

case ${1-}/$# in
    up/3 | watch/3 | down/2 | crash/2 | revive/2) ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
USER_NAME=$(id -un)
dir=$(mkdir -p "$2" && cd "$2" && pwd)
case $1 in
    up) up "$3" ;;
    watch) watch "$3" ;;
    down) down ;;
    crash) crash ;;
    revive) slurmctld && wait_for_idle ;;
esac
