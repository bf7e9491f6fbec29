/// How much of a frame may be searched. Work is counted in runs of the detector: scans of a tile, or examinations of a
/// candidate, which cost about as much. Rates are per second, so that they are the same at every frame rate.
struct SearchBudget {
    /// What the rates depend on.
    struct Situation {
        /// The number of confirmed faces.
        var shown: Int
        /// Whether faces must be hidden.
        var isThorough: Bool
        /// Whether some place in the frame has not been searched since the start.
        var isFirstPass: Bool
        /// Whether faces must be hidden, and the frame was not searched often enough since.
        var lacksSearches: Bool
        /// Whether a face was lost within the last seconds.
        var hasLost: Bool
        /// Whether something other than a known face has moved within the last second.
        var hasEntered: Bool
        /// Whether that has begun within the last second.
        var isEntering: Bool

        /// Whether to search with twice the budget: without faces to track there is time for more, and at the start and
        /// in a crowd more faces are likely.
        var isUrgent: Bool { shown == 0 || shown >= SearchBudget.crowd || isFirstPass || lacksSearches }
    }

    /// The numbers of tiles due, including the fraction: of all likely sizes, and of smaller ones.
    private var due = 0.0
    private var smallDue = 0.0
    /// When a confirmed face was last present, seconds.
    private var lastPresence = 0.0

    /// The number of faces that count as a crowd.
    private static let crowd = 3
    /// Tiles scanned per second until everything was searched once, and while no face is present but one was within the
    /// last `alert` seconds.
    private static let tilesAlert = 60.0
    /// How long the search stays at `tilesAlert` after the last face is lost, seconds.
    private static let alert = 3.0
    /// Tiles scanned per second once no face has been present for longer than `alert`.
    private static let tilesAlone = 20.0
    /// Tiles scanned per second beside a known face: fewer than half the frame rate, so that most frames scan none.
    private static let tilesBeside = 4.0
    /// Tiles scanned per second in a crowd: more faces are likely to appear, and tiles cost less than the faces.
    private static let tilesCrowd = 30.0
    /// Tiles scanned per second beside a known face while something else moves.
    private static let tilesEntered = 10.0
    /// Runs per second, with at least one per frame, and the most per frame, except for the first.
    private static let runsPerSecond = 30.0
    private static let maxRuns = 3
    private static let firstRuns = 24
    /// While faces must be hidden: the minimum number of tiles scanned per second.
    private static let tilesThorough = 20.0
    /// The number of runs in the first frame then, which search one of 1280 x 720 twice, and the most in a later one
    /// until it was searched often enough.
    private static let (firstThoroughRuns, maxThoroughRuns) = (64, 15)
    /// Tiles searched per second then, until the frame was searched once. A tile takes 1 to 2 ms of CPU time.
    private static let tilesThoroughBusy = 180.0
    /// Tiles searched per second then in a crowd. With one tile in six for cats, 120 tiles left none of 406 faces bare,
    /// 90 tiles 3, and 60 tiles 12; these are as many for people as those 120.
    private static let tilesThoroughCrowd = 105.0
    /// Tiles searched per second then after a face was lost, and half as many while something moves. On labelled clips
    /// without a crowd no rate from 60 to 180 left a face bare; the cost grows with it.
    private static let tilesThoroughAlert = 90.0
    /// Tiles searched per second then for a second after something has begun to move beside a known face.
    private static let tilesThoroughEntering = 60.0
    /// Tiles of smaller sizes that are searched per second then, until all of them were searched once, and in a frame
    /// at most; and then their number as a share of the other tiles' beside them.
    private static let smallTilesBusy = 720.0
    private static let maxSmallTiles = 24
    private static let smallTilesShare = 0.2

    /// Forgets when a face was last present: the source's clock begins anew.
    mutating func restartClock() { lastPresence = 0 }

    /// The number of detector runs that a frame may spend beside tracking known faces.
    /// - Parameter elapsed: seconds since the last searched frame; nil for the first.
    func runs(_ situation: Situation, elapsed: Double?) -> Int {
        guard let elapsed else { return Self.firstRuns(situation) }
        let (perSecond, limit) =
            situation.lacksSearches
            ? (Self.tilesThoroughBusy, Self.maxThoroughRuns)
            : situation.isThorough ? (Self.tilesThoroughBusy, 2 * Self.maxRuns) : (Self.runsPerSecond, Self.maxRuns)
        let runs = max(1, min(Int((elapsed * perSecond).rounded()), limit))
        return situation.isUrgent ? 2 * runs : runs
    }

    /// The numbers of tiles due by a frame, of likely sizes and of smaller ones.
    /// - Parameters:
    ///   - seconds: the time of the frame.
    ///   - elapsed: seconds since the last searched frame; nil for the first.
    ///   - isSmallComplete: whether all tiles of smaller sizes were searched; nil if those are not searched.
    mutating func tilesDue(
        _ situation: Situation, at seconds: Double, elapsed: Double?, isSmallComplete: Bool?
    ) -> (likely: Int, small: Int) {
        let rate = scanRate(situation, at: seconds)
        guard let elapsed else { return (Self.firstRuns(situation), Self.maxSmallTiles) }
        due += elapsed * rate
        let likely = Int(due)
        due = min(due - Double(likely), 1)
        guard let isSmallComplete else { return (likely, 0) }
        smallDue += elapsed * (isSmallComplete ? rate * Self.smallTilesShare : Self.smallTilesBusy)
        let small = min(Int(smallDue), Self.maxSmallTiles)
        smallDue = min(smallDue - Double(small), 1)
        return (likely, small)
    }

    /// The number of tiles scanned per second, of likely sizes.
    mutating func scanRate(_ situation: Situation, at seconds: Double) -> Double {
        if situation.shown > 0 { lastPresence = seconds }
        let isAlert = situation.shown == 0 && seconds - lastPresence < Self.alert
        let isSeeking = situation.isFirstPass || isAlert
        return if situation.isThorough, situation.isFirstPass || situation.lacksSearches {
            Self.tilesThoroughBusy
        } else if situation.isThorough, situation.shown >= Self.crowd {
            Self.tilesThoroughCrowd
        } else if situation.isThorough, isSeeking || situation.hasLost {
            Self.tilesThoroughAlert
        } else if situation.isThorough {
            situation.isEntering
                ? Self.tilesThoroughEntering
                : situation.hasEntered ? Self.tilesThoroughAlert / 2 : Self.tilesThorough
        } else if isSeeking {
            Self.tilesAlert
        } else if situation.shown == 0 {
            Self.tilesAlone
        } else if situation.shown >= Self.crowd {
            Self.tilesCrowd
        } else if situation.hasEntered {
            Self.tilesEntered
        } else {
            Self.tilesBeside
        }
    }

    private static func firstRuns(_ situation: Situation) -> Int {
        situation.isThorough ? firstThoroughRuns : firstRuns
    }
}
